import Crypto
import Foundation
import ReceiptdConfiguration

/// The users' passwords, compared in the same time whatever is typed.
struct Passwords: Sendable {
    private struct Entry: Sendable {
        let digest: SHA256Digest
        /// Nil: its browsers are not told apart.
        let browsers: SymmetricKey?
        let user: ConsoleUser
    }

    private let entries: [String: Entry]
    /// Compared with where no user has the name.
    private let nobody = SHA256.hash(data: Data("nobody".utf8))

    init(_ users: [ConsoleSettings.User]) {
        entries = Dictionary(
            users.map { user in
                (
                    user.name,
                    Entry(
                        digest: SHA256.hash(data: Data(user.password.value.utf8)),
                        browsers: BrowserMark.key(of: user.name, password: user.password.value),
                        user: ConsoleUser(name: user.name, mayChange: user.role == .operate))
                )
            }, uniquingKeysWith: { first, _ in first })
    }

    var isEmpty: Bool { entries.isEmpty }

    func knows(_ name: String) -> Bool { entries[name] != nil }

    /// Whose tries one under this name counts with.
    /// - Parameter mark: of the browser, as it was sent.
    func origin(_ name: String, mark: String?) -> SignInLimit.Origin {
        guard let entry = entries[name] else { return .nobody }
        guard let mark, let key = entry.browsers, let known = BrowserMark(mark, of: name, by: key)
        else { return .user(name) }
        return .browser(known)
    }

    /// For a browser that has just signed in. Nil where no user has the name, or its browsers are not told apart.
    func mark(of name: String) -> BrowserMark? {
        entries[name]?.browsers.map { BrowserMark(of: name, by: $0) }
    }

    /// Nil where the name or the password is wrong.
    func user(_ name: String, password: String) -> ConsoleUser? {
        let entry = entries[name]
        let typed = SHA256.hash(data: Data(password.utf8))
        // Digests are compared in constant time.
        let isRight = typed == (entry?.digest ?? nobody)
        return isRight ? entry?.user : nil
    }
}
