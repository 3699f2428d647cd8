import Logging
import Synchronization
import Testing

@testable import receiptd

@Suite("The time limit of a process's shutdown")
struct ShutdownLimitTests {
    @Test("if a shutdown takes longer than its time limit, receiptd ends the process")
    func ends() async {
        await withCheckedContinuation { continuation in
            // The limit ends ten seconds after the grace. With a grace of -9.9 seconds the end is a moment from now.
            let limit = ShutdownLimit(seconds: -9.9, pools: [], logger: Logger(label: "test")) { continuation.resume() }
            limit.start()
        }
    }

    @Test("once a shutdown is over, its time limit does not end the process")
    func ended() async {
        let isEnded = Atomic(false)
        let limit = ShutdownLimit(seconds: -20, pools: [], logger: Logger(label: "test")) {
            isEnded.store(true, ordering: .sequentiallyConsistent)
        }
        limit.end()
        limit.start()
        // The test waits until a second limit ends, which is due later than the first. If the first limit still ran, it
        // would be over by then.
        await withCheckedContinuation { continuation in
            ShutdownLimit(seconds: -9.9, pools: [], logger: Logger(label: "test")) { continuation.resume() }.start()
        }
        let hasEndedProcess = isEnded.load(ordering: .sequentiallyConsistent)
        #expect(!hasEndedProcess)
    }
}
