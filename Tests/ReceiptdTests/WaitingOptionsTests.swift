import ArgumentParser
import BackOffice
import Fulfillment
import Ledger
import NamesAndTimes
import Testing

@testable import receiptd

@Suite("Options that filter held, parked and unclaimed rows")
struct WaitingOptionsTests {
    private static let time = "2026-11-21T03:00:00Z"

    @Test("commands filter held, parked and unclaimed rows by options for the columns that each kind of row has")
    func filters() throws {
        let time = try #require(Timestamp(rfc3339: Self.time))
        let options = ["--bundle", "b", "--before", Self.time]
        let held = try WaitingOptions<Reason>.parse(
            options + ["--reason", "daily_limit", "--player", "p", "--product", "g"])
        #expect(
            held.filter()
                == HoldFilter(bundleID: "b", reason: .dailyLimit, playerID: "p", productID: "g", until: time))
        let parked = try WaitingOptions<ParkingReason>.parse(options + ["--reason", "doubt", "--player", "p"])
        #expect(parked.filter() == ParkedFilter(bundleID: "b", reason: .doubt, playerID: "p", until: time))
        let unclaimed = try WaitingOptions<UnclaimedReason>.parse(options + ["--product", "g"])
        #expect(unclaimed.filter() == UnclaimedFilter(bundleID: "b", productID: "g", until: time))
        #expect(throws: (any Error).self) { try WaitingOptions<ParkingReason>.parse(["--product", "g"]) }
        #expect(throws: (any Error).self) { try WaitingOptions<UnclaimedReason>.parse(["--player", "p"]) }
        for wrong in [["--before", "yesterday"], ["--limit", "0"], ["--reason", "made_up"]] {
            #expect(throws: (any Error).self, "\(wrong)") { try WaitingOptions<Reason>.parse(wrong) }
        }
    }

    @Test("a command on held or parked rows takes one id, or --all with filters; the stored subject names no player")
    func choices() throws {
        #expect(try WaitingChoice<Reason>.parse(["1000"]).filter == HoldFilter(id: "1000"))
        let choice = try WaitingChoice<Reason>.parse(["--all", "--player", "p", "--product", "g", "--limit", "5"])
        #expect(choice.filter == HoldFilter(playerID: "p", productID: "g"))
        #expect(choice.filter.subject == "one player's, product g")
        #expect([3, 7].map { choice.count($0) } == [3, 5])
        let disputed = try WaitingChoice<Reason>.parse(["1000", "--player", "p"])
        #expect(disputed.filter == HoldFilter(id: "1000", playerID: "p"))
        // Several players may have chosen the same submission id, so `--player` is allowed beside the id.
        let shared = try WaitingChoice<ParkingReason>.parse(["s", "--player", "p"])
        #expect(shared.filter == ParkedFilter(id: "s", playerID: "p"))
        #expect(throws: (any Error).self) { try WaitingChoice<ParkingReason>.parse(["s", "--reason", "doubt"]) }
        for wrong in [[], ["1000", "--all"], ["1000", "--product", "g"], ["1000", "--limit", "1"], ["no id"]] {
            #expect(throws: (any Error).self, "\(wrong)") { try WaitingChoice<Reason>.parse(wrong) }
        }
    }
}
