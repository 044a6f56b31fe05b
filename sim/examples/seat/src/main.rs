fn main() -> Result<(), seat::Error> {
    seat::on_etcd()
}
