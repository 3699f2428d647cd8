import Crypto
import Dispatch
import Foundation
import ReceiptdConfiguration

/// The users' passwords. The check of an unknown name takes as long as the check of a user's name. `SignInLimit` counts
/// wrong passwords for unknown names too. So nobody can find out the users' names.
struct Passwords: Sendable {
    private struct Entry: Sendable {
        let hash: PasswordHash
        let browsers: SymmetricKey
        let user: ConsoleUser
    }

    private let entries: [String: Entry]
    /// The hash against which the console checks a password if no user has the name; nil if there are no users.
    private let nobody: PasswordHash?
    /// The secret key that turns names into codes. The console counts tries by these codes.
    private let naming = SymmetricKey(size: .bits256)
    /// The queue of password checks for browsers that are not known. It runs one check at a time, which limits memory
    /// and processor time. Known browsers have their own queue, so that they do not wait for strangers.
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

    /// Returns the origin under which the console counts tries for this name.
    /// - Parameter mark: the mark that the browser sent; nil if it sent none.
    func origin(_ name: String, mark: String?) -> SignInLimit.Origin {
        if let mark, let entry = entries[name], let known = BrowserMark(mark, of: name, by: entry.browsers) {
            return .browser(known)
        }
        let code = HMAC<SHA256>.authenticationCode(for: Data(name.utf8), using: naming)
        return .name(code.prefix(2).reduce(0) { $0 << 8 | UInt16($1) })
    }

    /// Returns a new mark for a browser with which the user has just signed in; nil if no user has the name.
    func mark(of name: String) -> BrowserMark? {
        entries[name].map { BrowserMark(of: name, by: $0.browsers) }
    }

    /// Returns the user; nil if the name or the password is wrong. The check waits for earlier checks in its queue.
    func user(_ name: String, password: String, from origin: SignInLimit.Origin) async -> ConsoleUser? {
        let entry = entries[name]
        guard let hash = entry?.hash ?? nobody else { return nil }
        let isRight = await withCheckedContinuation { continuation in
            // A check takes a tenth of a second of processor time, which would block Swift's cooperative pool.
            (origin.isBrowser ? browsers : strangers).async {
                continuation.resume(returning: hash.matches(password))
            }
        }
        return isRight ? entry?.user : nil
    }
}
