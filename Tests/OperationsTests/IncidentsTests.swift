import Operations
import Testing

@Suite("Incidents that wait to be stored")
struct IncidentsTests {
    @Test("`take` returns repeated incidents as one count; `putBack` adds this count to the incidents since `take`")
    func waiting() {
        let incidents = ReceiptdMetrics(version: "test").incidents
        incidents.note(.crashed)
        incidents.note(.crashed)
        incidents.note(.deletedUnread, of: "t/1: 0 to 9", count: 10)
        let taken = incidents.take()
        #expect(
            Set(taken) == [
                Incidents.Entry(.crashed, count: 2), Incidents.Entry(.deletedUnread, of: "t/1: 0 to 9", count: 10),
            ])
        #expect(incidents.take().isEmpty)
        incidents.note(.crashed)
        incidents.putBack(taken)
        #expect(Set(incidents.take()).contains(Incidents.Entry(.crashed, count: 3)))
    }

    @Test("5,000 different incidents use at most 501 entries in memory, and the entries' counts add up to 5,000")
    func bounded() {
        let incidents = ReceiptdMetrics(version: "test").incidents
        for number in 0..<5_000 { incidents.note(.deletedUnread, of: "t/\(number): 0 to 0") }
        let taken = incidents.take()
        #expect(taken.count <= 501)
        #expect(taken.reduce(0) { $0 + $1.count } == 5_000)
    }

    @Test(
        "readyz reports records that Kafka deleted unread, even before the incident is stored, until the loss is old")
    func losses() {
        let metrics = ReceiptdMetrics(version: "test")
        let health = Health(failures: Failures(metrics: metrics), needing: [])
        #expect(health.readyz().text == "ready\n")
        metrics.incidents.note(.constantToken)
        metrics.incidents.note(.deletedUnread, of: "t/1: 60 to 499", count: 440)
        let words = "Kafka deleted records before they were read, last 0 min ago, 440 in 90 days"
        #expect(health.readyz().ok && health.readyz().text.contains(words))
        #expect(health.readyz().text.split(separator: "\n").count == 2)
        // PostgreSQL knows only an old loss until the worker stores the new loss.
        let old = [Incidents.Known(kind: .deletedUnread, lastSeconds: 1_700_000_000, count: 440)]
        metrics.incidents.set(old)
        #expect(health.readyz().text.contains(words))
        _ = metrics.incidents.take()
        metrics.incidents.set(old)
        #expect(health.readyz().text == "ready\n")
    }
}
