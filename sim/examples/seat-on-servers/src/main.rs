fn main() -> Result<(), seat_on_servers::Error> {
    seat_on_servers::command::run(&std::env::args().skip(1).collect::<Vec<_>>())
}
