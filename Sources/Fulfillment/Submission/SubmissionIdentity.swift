import NamesAndTimes

extension Submission {
    /// What a submission is known by: bundle, player, `submission_id` and the decoded proof together. An id that a game
    /// server uses again with another proof names another submission.
    public func identity(proof: Digest256) -> NameBasedUUID {
        NameBasedUUID(
            ["submission".utf8, bundleID.text.utf8, playerID.text.utf8, submissionID.text.utf8], then: proof)
    }
}

extension DeadLetter.Sender {
    /// As far as a record that is no submission can be known.
    public var identity: NameBasedUUID {
        NameBasedUUID("dead letter", bundleID?.text ?? "", playerID.text, submissionID.text)
    }
}
