import Testing

@testable import Postgres

@Suite("The pool's backoff after failed connections to PostgreSQL")
struct ConnectBackoffTests {
    private let start = ContinuousClock.now

    @Test(
        "after failed connections to PostgreSQL the backoff doubles from 0.1 s to 5 s, and a success ends the backoff")
    func doubles() {
        var backoff = ConnectBackoff()
        #expect(backoff.permits(at: start))
        var now = start
        for milliseconds in [100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000] {
            backoff.failed(at: now, jitter: 0)
            #expect(!backoff.permits(at: now + .milliseconds(milliseconds - 1)))
            now += .milliseconds(milliseconds)
            #expect(backoff.permits(at: now))
        }
        backoff.failed(at: now, jitter: 0)
        backoff.succeeded()
        #expect(backoff.permits(at: now))
    }

    @Test("random jitter shortens the backoff after a failed connection to PostgreSQL, by at most half")
    func jitter() {
        var backoff = ConnectBackoff()
        backoff.failed(at: start, jitter: 0.96)
        #expect(!backoff.permits(at: start + .milliseconds(50)))
        #expect(backoff.permits(at: start + .milliseconds(53)))
    }

    @Test("if several sessions fail to connect to PostgreSQL at the same time, the backoff counts one failure")
    func together() {
        var backoff = ConnectBackoff()
        for _ in 0..<8 { backoff.failed(at: start, jitter: 0) }
        #expect(backoff.permits(at: start + .milliseconds(100)))
    }
}
