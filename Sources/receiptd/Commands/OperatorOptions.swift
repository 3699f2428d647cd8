import Administration
import ArgumentParser
import Foundation
import ReceiptdConfiguration

/// The options for the operator's name and for confirming a change.
struct OperatorOptions: ParsableArguments {
    static let maximumScalars = 128

    @Option(
        name: .customLong("operator"),
        help: "Your name, stored with the decision. Default: your user name on this machine.")
    var name: String = NSUserName()
    @Flag(help: "Print how many rows would change, and change nothing.") var dryRun = false
    @Flag(help: "Do not ask for confirmation. Without a terminal, changes that you cannot undo need --yes.") var yes =
        false

    func validate() throws {
        let scalars = name.unicodeScalars
        guard !scalars.isEmpty, scalars.count <= Self.maximumScalars, !scalars.contains("\0") else {
            throw ValidationError("--operator must have 1 to \(Self.maximumScalars) characters.")
        }
    }

    /// Asks on a terminal before a change that cannot be undone. Without a terminal the command needs `--yes`.
    /// - Parameter what: the change and the number of rows, such as "reject 12 held transactions".
    func confirm(_ what: String) throws {
        try Confirmation(
            isGiven: yes,
            isTerminal: isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1,
            answer: { question in
                FileHandle.standardError.write(Data(question.utf8))
                return readLine()
            }
        ).require(what)
    }
}

/// Decides whether a change that cannot be undone is confirmed.
struct Confirmation {
    /// EX_USAGE of sysexits.h.
    static let usage: Int32 = 64

    let isGiven: Bool
    let isTerminal: Bool
    /// Prints a question on the terminal, and returns the typed answer; nil if the terminal is closed.
    let answer: (String) -> String?

    /// Throws a `CommandFailure` if the change is not confirmed.
    func require(_ what: String) throws {
        if isGiven { return }
        guard isTerminal else {
            throw CommandFailure(
                "this would \(what) for good: without a terminal, the command needs --yes; nothing was done",
                code: Self.usage)
        }
        let answer = answer("This will \(what) for good. Type yes to go on: ")?.trimmed.lowercased()
        guard answer == "yes" || answer == "y" else { throw CommandFailure("nothing was done", code: 1) }
    }
}

/// The option `--limit` of a command that lists or changes rows.
enum RowLimit {
    /// The number of rows that a list shows without `--all` and `--limit`.
    static let page = 100

    /// Returns the limit. Without a limit, returns every row if `all` is true, and otherwise a page.
    static func rows(_ limit: Int?, all: Bool) -> Int { limit ?? (all ? Int(Int32.max) : page) }

    static func validate(_ limit: Int?) throws {
        if let limit, limit < 1 { throw ValidationError("--limit must be 1 or more.") }
    }
}
