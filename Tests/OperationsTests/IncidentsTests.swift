import Operations
import Testing

@Suite("Incidents that are to be kept")
struct IncidentsTests {
    @Test("what happens again is added up until it is kept, and comes again where it could not be")
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

    @Test("however many different ones wait, no more than so many are in memory, and none goes uncounted")
    func bounded() {
        let incidents = ReceiptdMetrics(version: "test").incidents
        for number in 0..<5_000 { incidents.note(.deletedUnread, of: "t/\(number): 0 to 0") }
        let taken = incidents.take()
        #expect(taken.count <= 501)
        #expect(taken.reduce(0) { $0 + $1.count } == 5_000)
    }

    @Test("what was lost is told to whoever asks whether all is well, for a day, also by a process that did not see it")
    func losses() {
        let metrics = ReceiptdMetrics(version: "test")
        let health = Health(failures: Failures(metrics: metrics), needing: [])
        #expect(health.readyz().text == "ready\n")
        metrics.incidents.note(.constantToken)
        metrics.incidents.note(.deletedUnread, of: "t/1: 60 to 499", count: 440)
        let words = "Kafka deleted records before they were read, last 0 min ago, 440 in 90 days"
        #expect(health.readyz().ok && health.readyz().text.contains(words))
        #expect(health.readyz().text.split(separator: "\n").count == 2)
        metrics.incidents.set([Incidents.Known(kind: .deletedUnread, lastSeconds: 1_700_000_000, count: 440)])
        #expect(health.readyz().text == "ready\n")
    }
}
