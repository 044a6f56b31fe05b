fn main() -> Result<(), seat::Error> {
    seat::main()
}
