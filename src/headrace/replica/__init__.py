"""What a leader knows of its followers, and what a follower makes of its leader's answers: decided here, done elsewhere."""
