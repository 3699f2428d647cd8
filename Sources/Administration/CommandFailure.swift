/// The failure of a command: its message on standard error, and its exit code.
package struct CommandFailure: Error {
    /// EX_UNAVAILABLE of sysexits.h: a service cannot be reached, or the schema is missing or too old.
    package static let unavailable: Int32 = 69
    package static let wrongSettings: Int32 = 78

    package let message: String
    package let code: Int32

    package init(_ message: String, code: Int32) {
        self.message = message
        self.code = code
    }
}
