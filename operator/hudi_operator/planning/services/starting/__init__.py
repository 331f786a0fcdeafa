"""Which of the services that are due start now, what keeps the others waiting, and what ends for them."""
