"""What a leader knows of its followers, and what a follower does with its leader's answers: decided here, done elsewhere."""
