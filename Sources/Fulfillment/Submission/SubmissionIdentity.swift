import NamesAndTimes

extension Submission {
    /// Returns the identity of a submission, made of bundle, player, `submission_id` and the decoded proof. If a game
    /// server uses a `submission_id` again with another proof, that is another submission.
    public func identity(proof: Digest256) -> NameBasedUUID {
        NameBasedUUID(
            ["submission".utf8, bundleID.text.utf8, playerID.text.utf8, submissionID.text.utf8], then: proof)
    }
}

extension DeadLetter.Sender {
    /// The identity of a record that is no submission, made of the names that could be read.
    public var identity: NameBasedUUID {
        NameBasedUUID("dead letter", bundleID?.text ?? "", playerID.text, submissionID.text)
    }
}
