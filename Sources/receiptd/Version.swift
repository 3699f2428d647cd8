import CCommit

/// The version and its only place: scripts/package.sh reads it here, and scripts/check-docs.sh holds what else names it against it.
enum Version {
    static let number = "0.1.0"

    /// Empty where it is not known.
    static let commit = String(cString: receiptd_commit())

    /// `0.1.0 (abc1234)`.
    static let text = commit.isEmpty ? number : "\(number) (\(commit))"
}
