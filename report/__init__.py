"""What a person looks at: the live console and the verdict."""
