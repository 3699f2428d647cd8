/// A fault that `receiptd check` found, and the exit code for it.
package struct CheckFailure: Error {
    package let message: String
    package let code: Int32

    init(_ message: String, code: Int32 = CommandFailure.unavailable) {
        self.message = message
        self.code = code
    }

    init(_ error: any Error) {
        if let failure = error as? CommandFailure {
            self.init(failure.message, code: failure.code)
        } else {
            self.init("\(error)")
        }
    }
}
