import CCommit

/// The version. scripts/package.sh reads this file, and scripts/check-docs.sh compares the documents with it.
enum Version {
    static let number = "0.1.0"

    /// The commit of the build; empty if it is not known.
    static let commit = String(cString: receiptd_commit())

    /// The version and commit, such as `0.1.0 (abc1234)`.
    static let text = commit.isEmpty ? number : "\(number) (\(commit))"
}
