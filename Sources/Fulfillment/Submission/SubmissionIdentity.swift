import NamesAndTimes

extension Submission {
    /// Returns the identity of a submission: bundle, player, `submission_id` and the decoded proof together. If a game
    /// server uses an id again with another proof, that is another submission.
    public func identity(proof: Digest256) -> NameBasedUUID {
        NameBasedUUID(
            ["submission".utf8, bundleID.text.utf8, playerID.text.utf8, submissionID.text.utf8], then: proof)
    }
}

extension DeadLetter.Sender {
    /// The identity of a record that is no submission, as far as it can be known.
    public var identity: NameBasedUUID {
        NameBasedUUID("dead letter", bundleID?.text ?? "", playerID.text, submissionID.text)
    }
}
