"""What instants count to, by the rules of Hudi 1.2.0: services that are due, pending work, retention, file sizes."""
