import Administration
import ArgumentParser
import BackOffice
import Fulfillment
import Ledger
import NamesAndTimes
import Postgres
import ReceiptdConfiguration

extension GrantsCommand {
    struct Revoke: DatabaseCommand {
        static let configuration = CommandConfiguration(
            commandName: "revoke",
            abstract: "Revokes a grant: a worker publishes receipt.revoked with revoked_by_operator.",
            discussion: """
                Your revocation and Apple's refund are independent: undoing one does not undo the other. If Apple has \
                already refunded the purchase, receiptd publishes no event. On a terminal, the command asks before it \
                revokes. Without a terminal, it needs --yes. A running worker publishes the event.
                """)

        @OptionGroup var choice: GrantChoice
        @OptionGroup var options: SettingsOptions

        func run(_ settings: Settings, in pool: PostgresPool) async throws {
            let grant = try await choice.find(in: pool)
            let what =
                "\(grant.quantity) × \(ShownText.plain(grant.productID)) from \(ShownText.quoted(grant.playerID))"
            if grant.operatorRevokedAt != nil {
                return print("an operator has already revoked this grant; nothing was done")
            }
            if choice.operation.dryRun { return print("would revoke \(what); nothing was done") }
            try choice.operation.confirm("revoke \(what)")
            try await choice.apply(.revoke, in: pool)
        }
    }

    struct Reinstate: DatabaseCommand {
        static let configuration = CommandConfiguration(
            commandName: "reinstate",
            abstract: """
                Undoes an operator's revocation: a worker publishes receipt.reinstated, unless Apple has refunded the \
                purchase.
                """)

        @OptionGroup var choice: GrantChoice
        @OptionGroup var options: SettingsOptions

        func run(_ settings: Settings, in pool: PostgresPool) async throws {
            let grant = try await choice.find(in: pool)
            if grant.operatorRevokedAt == nil { return print("no operator has revoked this grant; nothing was done") }
            if choice.operation.dryRun { return print("would undo the revocation; nothing was done") }
            try await choice.apply(.reinstate, in: pool)
        }
    }
}

/// The options for a change of one grant: the transaction's id, the operator and a note.
struct GrantChoice: ParsableArguments {
    static let maximumNoteScalars = 1_000

    @Argument(help: "The id of a granted transaction.") var transactionID: String
    @Option(help: "Your reason, stored with the decision.") var note: String?
    @OptionGroup var operation: OperatorOptions

    func validate() throws {
        guard TransactionIDText.isSound(transactionID) else {
            throw ValidationError("\(ShownText.quoted(transactionID)) is not \(TransactionIDText.requirement).")
        }
        if let note, note.unicodeScalars.count > Self.maximumNoteScalars || note.utf8.contains(0) {
            throw ValidationError("--note must have at most \(Self.maximumNoteScalars) characters.")
        }
    }

    /// Returns the grant. Throws a `CommandFailure` with exit code 1 if the transaction was never granted.
    func find(in pool: PostgresPool) async throws -> GrantAdministration.Summary {
        guard let grant = try await GrantAdministration(pool: pool).find(StoreTransactionID(transactionID)) else {
            throw CommandFailure("\(ShownText.quoted(transactionID)) is not granted", code: 1)
        }
        return grant
    }

    func apply(_ word: GrantDecision.Word, in pool: PostgresPool) async throws {
        let catalog = try await GrantsCommand.catalog(in: CatalogStore(pool: pool))
        let decision = GrantDecision(
            word, StoreTransactionID(transactionID), by: operation.name, note: note, at: WallClock.now)
        switch try await GrantAdministration(pool: pool).apply(decision, catalog: catalog) {
        case .published(let event) where event.kind == .reinstated:
            print("reinstated; a worker publishes it within seconds")
        case .published: print("revoked; a worker publishes it within seconds")
        case .remembered: print("stored; Apple has refunded the purchase, so nothing changes for the player")
        case .unchanged: print("another operator has just done the same; nothing was done")
        case .inForce(let other):
            throw CommandFailure(
                """
                the player already has this purchase as transaction \(ShownText.quoted(other.text)): revoke that grant \
                first, or leave this grant revoked
                """, code: 1)
        case .notGranted: throw CommandFailure("\(ShownText.quoted(transactionID)) is not granted", code: 1)
        }
    }
}
