import Ledger

extension Schema.State {
    /// The reason why a worker cannot use the database; nil if the worker can.
    package var unreadiness: String? {
        switch self {
        case .current, .newer: nil
        case .missing: "the database has no schema: run `receiptd migrate`"
        case .tooOld(let found, let needed):
            "the database's schema is version \(found), this program needs \(needed): run `receiptd migrate`"
        }
    }
}
