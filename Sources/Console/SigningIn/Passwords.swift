import Crypto
import Dispatch
import Foundation
import ReceiptdConfiguration

/// The users' passwords. A name that no user has is looked at as one that a user has, in the same time and counted alike:
/// whoever guesses does not learn which names there are.
struct Passwords: Sendable {
    private struct Entry: Sendable {
        let hash: PasswordHash
        let browsers: SymmetricKey
        let user: ConsoleUser
    }

    private let entries: [String: Entry]
    /// The hash to compare with if no user has the name; nil if there are no users.
    private let nobody: PasswordHash?
    /// Names are counted by a code that nobody outside can make.
    private let naming = SymmetricKey(size: .bits256)
    /// One try at a time takes its memory and its processor; those of known browsers wait for no stranger's.
    private let strangers = DispatchQueue(label: "passwords of strangers")
    private let browsers = DispatchQueue(label: "passwords of known browsers")

    init(_ users: [ConsoleSettings.User]) {
        entries = Dictionary(
            users.map { user in
                (
                    user.name,
                    Entry(
                        hash: user.password, browsers: BrowserMark.key(of: user.name, password: user.password),
                        user: ConsoleUser(name: user.name, mayChange: user.role == .operate))
                )
            }, uniquingKeysWith: { first, _ in first })
        nobody = users.first?.password.ofNobody
    }

    var isEmpty: Bool { entries.isEmpty }

    func knows(_ name: String) -> Bool { entries[name] != nil }

    /// The origin with which a try under this name counts.
    /// - Parameter mark: of the browser, as it was sent.
    func origin(_ name: String, mark: String?) -> SignInLimit.Origin {
        if let mark, let entry = entries[name], let known = BrowserMark(mark, of: name, by: entry.browsers) {
            return .browser(known)
        }
        let code = HMAC<SHA256>.authenticationCode(for: Data(name.utf8), using: naming)
        return .name(code.prefix(2).reduce(0) { $0 << 8 | UInt16($1) })
    }

    /// Makes the mark of a browser that has just signed in. Returns nil if no user has the name.
    func mark(of name: String) -> BrowserMark? {
        entries[name].map { BrowserMark(of: name, by: $0.browsers) }
    }

    /// Returns nil if the name or the password is wrong. Waits for the tries before it.
    func user(_ name: String, password: String, from origin: SignInLimit.Origin) async -> ConsoleUser? {
        let entry = entries[name]
        guard let hash = entry?.hash ?? nobody else { return nil }
        let isRight = await withCheckedContinuation { continuation in
            // A tenth of a second of the processor's: never on the cooperative pool.
            (origin.isBrowser ? browsers : strangers).async {
                continuation.resume(returning: hash.matches(password))
            }
        }
        return isRight ? entry?.user : nil
    }
}
