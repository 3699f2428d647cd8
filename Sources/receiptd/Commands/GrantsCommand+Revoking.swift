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
            abstract: "Takes a grant back from its player: receipt.revoked with revoked_by_operator.",
            discussion: """
                Apple's refund and this decision are independent: each is reversed by itself. No event is published if Apple \
                has refunded the purchase already. Asks on a terminal; elsewhere it needs --yes. A running worker publishes the event.
                """)

        @OptionGroup var choice: GrantChoice
        @OptionGroup var options: SettingsOptions

        func run(_ settings: Settings, in pool: PostgresPool) async throws {
            let grant = try await choice.find(in: pool)
            let what =
                "\(grant.quantity) × \(ShownText.plain(grant.productID)) from \(ShownText.quoted(grant.playerID))"
            if grant.operatorRevokedAt != nil { return print("an operator revoked it before; nothing was done") }
            if choice.operation.dryRun { return print("\(what) would be taken back; nothing was done") }
            try choice.operation.confirm("take back \(what)")
            try await choice.apply(.revoke, in: pool)
        }
    }

    struct Reinstate: DatabaseCommand {
        static let configuration = CommandConfiguration(
            commandName: "reinstate",
            abstract: "Takes an operator's revocation back: receipt.reinstated, unless Apple has refunded it too.")

        @OptionGroup var choice: GrantChoice
        @OptionGroup var options: SettingsOptions

        func run(_ settings: Settings, in pool: PostgresPool) async throws {
            let grant = try await choice.find(in: pool)
            if grant.operatorRevokedAt == nil { return print("no operator has revoked it; nothing was done") }
            if choice.operation.dryRun { return print("the revocation would be taken back; nothing was done") }
            try await choice.apply(.reinstate, in: pool)
        }
    }
}

/// One granted transaction, and who says what of it.
struct GrantChoice: ParsableArguments {
    static let maximumNoteScalars = 1_000

    @Argument(help: "The id of a granted transaction.") var transactionID: String
    @Option(help: "The reason, kept with the decision.") var note: String?
    @OptionGroup var operation: OperatorOptions

    func validate() throws {
        guard TransactionIDText.isSound(transactionID) else {
            throw ValidationError("\(ShownText.quoted(transactionID)) is not \(TransactionIDText.requirement).")
        }
        if let note, note.unicodeScalars.count > Self.maximumNoteScalars || note.utf8.contains(0) {
            throw ValidationError("--note is at most \(Self.maximumNoteScalars) characters.")
        }
    }

    /// Exit 1 where it was never granted.
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
        case .remembered: print("remembered; Apple's refund is in force, so that nothing changes for the player")
        case .unchanged: print("somebody else was first; nothing was done")
        case .inForce(let other):
            throw CommandFailure(
                """
                the same purchase is granted as \(ShownText.quoted(other.text)), and in force: revoke that first, or leave \
                this one revoked
                """, code: 1)
        case .notGranted: throw CommandFailure("\(ShownText.quoted(transactionID)) is not granted", code: 1)
        }
    }
}
