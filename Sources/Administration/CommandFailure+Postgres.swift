import Postgres

extension CommandFailure {
    /// Makes the failure of a command from PostgreSQL's error. The exit code is 78 if the settings are wrong, 69 if
    /// PostgreSQL cannot be reached, otherwise 1.
    package init(_ error: PostgresError) {
        if error.isWrongSettings {
            self.init(error.inWords, code: Self.wrongSettings)
        } else if error.kind == .connection {
            self.init(error.inWords, code: Self.unavailable)
        } else {
            self.init("\(error)", code: 1)
        }
    }
}

extension PostgresError {
    /// PostgreSQL's message. For wrong settings it also says how to correct the settings.
    package var inWords: String {
        let told = sqlState.map { "\(message), SQLSTATE \($0)" } ?? message
        guard isWrongSettings else {
            return kind == .connection ? "PostgreSQL is out of reach: \(told)" : "PostgreSQL: \(told)"
        }
        let remedy =
            kind == .connection
            ? "correct DATABASE_URL or the role, then run `receiptd check`" : "give the role this right"
        return "PostgreSQL refuses: \(told): \(remedy)"
    }
}
