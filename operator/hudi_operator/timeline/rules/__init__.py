"""Rules of Hudi 1.2.0 on a timeline: due services, pending work, retention, file sizes."""
