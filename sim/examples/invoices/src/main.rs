fn main() -> Result<(), invoices::Error> {
    invoices::main()
}
