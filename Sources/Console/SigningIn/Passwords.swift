import Crypto
import Dispatch
import Foundation
import ReceiptdConfiguration

/// The users' passwords. The console checks an unknown name in the same time as a user's name and counts its tries
/// alike, so that a guesser learns no names.
struct Passwords: Sendable {
    private struct Entry: Sendable {
        let hash: PasswordHash
        let browsers: SymmetricKey
        let user: ConsoleUser
    }

    private let entries: [String: Entry]
    /// The hash to compare with if no user has the name; nil if there are no users.
    private let nobody: PasswordHash?
    /// The key of the codes by which tries are counted for each name. Nobody outside can compute such a code.
    private let naming = SymmetricKey(size: .bits256)
    /// The queue of strangers checks one try at a time, which bounds memory and processor time. Known browsers have a
    /// queue of their own, so that no stranger makes them wait.
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

    /// Returns the origin that a try under this name counts for.
    /// - Parameter mark: the mark that the browser sent.
    func origin(_ name: String, mark: String?) -> SignInLimit.Origin {
        if let mark, let entry = entries[name], let known = BrowserMark(mark, of: name, by: entry.browsers) {
            return .browser(known)
        }
        let code = HMAC<SHA256>.authenticationCode(for: Data(name.utf8), using: naming)
        return .name(code.prefix(2).reduce(0) { $0 << 8 | UInt16($1) })
    }

    /// Makes the mark for a browser in which the user just signed in. Returns nil if no user has the name.
    func mark(of name: String) -> BrowserMark? {
        entries[name].map { BrowserMark(of: name, by: $0.browsers) }
    }

    /// Returns nil if the name or the password is wrong. The check waits until the queue has checked earlier tries.
    func user(_ name: String, password: String, from origin: SignInLimit.Origin) async -> ConsoleUser? {
        let entry = entries[name]
        guard let hash = entry?.hash ?? nobody else { return nil }
        let isRight = await withCheckedContinuation { continuation in
            // A check takes a tenth of a second of processor time, which would block the cooperative pool.
            (origin.isBrowser ? browsers : strangers).async {
                continuation.resume(returning: hash.matches(password))
            }
        }
        return isRight ? entry?.user : nil
    }
}
