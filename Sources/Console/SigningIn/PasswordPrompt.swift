import Administration
import Foundation
import ReceiptdConfiguration

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Asks for a password twice on a terminal, without showing the password. Without a terminal the password is the first
/// line of standard input.
package enum PasswordPrompt {
    /// Returns the hash of the password. Throws a `CommandFailure`, with exit code 64 for a text that cannot be a
    /// password.
    package static func hash() throws -> PasswordHash {
        guard let hash = PasswordHash(of: try read()) else {
            throw CommandFailure("the command needs 32 MiB of memory to hash a password, and gets none", code: 1)
        }
        return hash
    }

    private static func read() throws -> String {
        let isTerminal = isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1
        let password = isTerminal ? hidden("Password: ") : readLine() ?? ""
        guard !password.isEmpty, !password.utf8.contains(0) else {
            throw CommandFailure("the password is empty or holds a NUL byte: type another password", code: wrongUsage)
        }
        guard !isTerminal || hidden("Once more: ") == password else {
            throw CommandFailure("the two passwords differ", code: wrongUsage)
        }
        return password
    }

    /// EX_USAGE of sysexits.h.
    private static let wrongUsage: Int32 = 64

    private static func hidden(_ prompt: String) -> String {
        FileHandle.standardError.write(Data(prompt.utf8))
        var shown = termios()
        guard tcgetattr(STDIN_FILENO, &shown) == 0 else { return readLine() ?? "" }
        var hidden = shown
        hidden.c_lflag &= ~tcflag_t(ECHO)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden)
        defer {
            tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown)
            FileHandle.standardError.write(Data("\n".utf8))
        }
        return readLine() ?? ""
    }
}
