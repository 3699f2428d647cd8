import Fulfillment
import Ledger
import NamesAndTimes
import TestSupport
import Testing

@Suite("Stores of players' account tokens in memory and in PostgreSQL")
struct PlayerAccountsConformance {
    private typealias Subject = AnnouncedSubject

    private func submit(
        _ id: String, told: String?, sent: String?, player: String, offset: Int64, in subject: Subject,
        use: AccountTokenUse = .signals
    ) async throws -> Reason? {
        var purchase = Sample.purchase(id)
        purchase.appAccountToken = told
        return try await subject.ledger.record(
            Sample.decision(
                .each([Sample.judged(purchase)]), player: player, offset: offset, token: sent, tokenUse: use)
        ).events.first?.reason
    }

    @Test(
        "the ledger rejects another player's token as binding_mismatch, whatever the app's policy for account tokens",
        arguments: Implementation.allCases, [AccountTokenUse.none, .signals, .holds])
    func binding(implementation: Implementation, use: AccountTokenUse) async throws {
        try await Subject.with(implementation) { subject in
            let token = Subject.token
            try await subject.tell(isOf: "player-1")
            func reason(_ id: String, told: String?, sent: String?, player: String, at offset: Int64) async throws
                -> Reason?
            { try await submit(id, told: told, sent: sent, player: player, offset: offset, in: subject, use: use) }
            #expect(try await reason("1000", told: token, sent: token, player: "player-2", at: 1) == .bindingMismatch)
            #expect(try await reason("1000", told: nil, sent: token, player: "player-2", at: 2) == .bindingMismatch)
            #expect(try await reason("1000", told: token, sent: nil, player: "player-2", at: 3) == .bindingMismatch)
            #expect(try await reason("1000", told: token, sent: token, player: "player-1", at: 4) == nil)
            // The ledger checks the owner before the token, and purchase 1000 belongs to player-1 by now.
            #expect(
                try await reason("1000", told: token, sent: token, player: "player-2", at: 5) == .ownedByOtherPlayer)
        }
    }

    @Test(
        "a token's newest player-accounts record counts, and a newest record without a player deletes the token",
        arguments: Implementation.allCases)
    func order(implementation: Implementation) async throws {
        try await Subject.with(implementation) { subject in
            let token = Subject.token
            func isRefused(_ id: String, at offset: Int64) async throws -> Bool {
                try await submit(id, told: token, sent: token, player: "player-2", offset: offset, in: subject)
                    == .bindingMismatch
            }
            try await subject.tell(isOf: "player-1", offset: 5)
            try await subject.tell(isOf: "player-2", offset: 4)
            #expect(try await isRefused("1000", at: 1))
            try await subject.tell(isOf: nil, offset: 6)
            #expect(try await !isRefused("1001", at: 2))
            try await subject.tell(isOf: "player-1", offset: 6)
            #expect(try await !isRefused("1002", at: 3))
            // A later time with a lower offset shows that the topic was deleted and created again.
            try await subject.tell(isOf: "player-1", offset: 0, at: Sample.noon.adding(milliseconds: 1))
            #expect(try await isRefused("1003", at: 4))
        }
    }

    @Test(
        "a token belongs to the player of its latest record, even if another partition's older record is read later",
        arguments: Implementation.allCases)
    func partitions(implementation: Implementation) async throws {
        try await Subject.with(implementation) { subject in
            func tell(_ player: PlayerID, partition: Int32, at time: Timestamp) async throws {
                let account = PlayerAccount(
                    token: AccountTokenKey(bundleID: Sample.bundle, token: Subject.token), player: player)
                _ = try await subject.accounts.apply([
                    ReceivedAccount(account, partition: partition, offset: 1, timestamp: time)
                ])
            }
            let later = Sample.noon.adding(milliseconds: 1)
            try await tell("player-2", partition: 1, at: later)
            try await tell("player-1", partition: 0, at: Sample.noon)
            let token = Subject.token
            func reason(_ player: String, _ offset: Int64) async throws -> Reason? {
                try await submit("1000", told: token, sent: token, player: player, offset: offset, in: subject)
            }
            #expect(try await reason("player-1", 1) == .bindingMismatch)
            #expect(try await reason("player-2", 2) == nil)
        }
    }
}
