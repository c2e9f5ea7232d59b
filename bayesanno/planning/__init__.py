"""What to ask next: answers and true labels that would help most, how many are enough, and when to stop."""
