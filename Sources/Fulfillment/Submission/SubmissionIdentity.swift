extension Submission {
    /// What a submission is known by: bundle, player, `submission_id` and the decoded proof together. An id that a game
    /// server uses again with another proof names another submission.
    public func identity(proof: Digest256) -> NameBasedUUID {
        NameBasedUUID([
            Array("submission".utf8), Array(bundleID.text.utf8), Array(playerID.text.utf8),
            Array(submissionID.text.utf8), proof.bytes,
        ])
    }
}

extension DeadLetter.Sender {
    /// As far as a record that is no submission can be known.
    public var identity: NameBasedUUID {
        NameBasedUUID("dead letter", bundleID?.text ?? "", playerID.text, submissionID.text)
    }
}
