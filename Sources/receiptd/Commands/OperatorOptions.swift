import Administration
import ArgumentParser
import Foundation
import ReceiptdConfiguration

/// The options that name the operator and confirm a change.
struct OperatorOptions: ParsableArguments {
    static let maximumScalars = 128

    @Option(
        name: .customLong("operator"),
        help: "Your name, stored with the decision. Default: your user name on this machine.")
    var name: String = NSUserName()
    @Flag(help: "Print how many rows would change, and change nothing.") var dryRun = false
    @Flag(help: "Do not ask for confirmation. Without a terminal, changes that you cannot undo need it.") var yes =
        false

    func validate() throws {
        let scalars = name.unicodeScalars
        guard !scalars.isEmpty, scalars.count <= Self.maximumScalars, !scalars.contains("\0") else {
            throw ValidationError("--operator must have 1 to \(Self.maximumScalars) characters.")
        }
    }

    /// Asks on a terminal before a change ends rows for good or takes a purchase from a player. Without a terminal the
    /// change needs the option.
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
    /// The code EX_USAGE of sysexits.h.
    static let usage: Int32 = 64

    let isGiven: Bool
    let isTerminal: Bool
    /// Asks the question and returns the answer; nil if the terminal is gone.
    let answer: (String) -> String?

    /// Throws a `CommandFailure` if the change is not confirmed.
    func require(_ what: String) throws {
        if isGiven { return }
        guard isTerminal else {
            throw CommandFailure(
                "this would \(what) for good: without a terminal it needs --yes; nothing was done", code: Self.usage)
        }
        let answer = answer("This will \(what) for good. Type yes to go on: ")?.trimmed.lowercased()
        guard answer == "yes" || answer == "y" else { throw CommandFailure("nothing was done", code: 1) }
    }
}

/// The option `--limit` of a list or a change.
enum RowLimit {
    /// Rows of a list without `--all` or `--limit`.
    static let page = 100

    /// Returns the requested number of rows; without a request, every row if `all` is true, and else a page.
    static func rows(_ limit: Int?, all: Bool) -> Int { limit ?? (all ? Int(Int32.max) : page) }

    static func validate(_ limit: Int?) throws {
        if let limit, limit < 1 { throw ValidationError("--limit must be 1 or more.") }
    }
}
