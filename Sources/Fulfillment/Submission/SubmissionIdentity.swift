import NamesAndTimes

extension Submission {
    /// Returns the identity of a submission, made from the bundle id, the player's id, the `submission_id` and the
    /// proof's digest. If a game server repeats a `submission_id` with another proof, that is a new submission.
    public func identity(proof: Digest256) -> NameBasedUUID {
        NameBasedUUID(
            ["submission".utf8, bundleID.text.utf8, playerID.text.utf8, submissionID.text.utf8], then: proof)
    }
}

extension DeadLetter.Sender {
    /// The identity of a record that is not a submission, made from the ids that receiptd could read.
    public var identity: NameBasedUUID {
        NameBasedUUID("dead letter", bundleID?.text ?? "", playerID.text, submissionID.text)
    }
}
