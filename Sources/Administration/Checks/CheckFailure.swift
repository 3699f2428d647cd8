/// A fault that a check of `receiptd check` found, and its exit code.
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
