import Foundation

/// The costs of one of our parts and of a library: microseconds of processor time, medians of alternating rounds.
struct Comparison {
    let part: String
    let library: String
    private let ours: [Double]
    private let theirs: [Double]

    init(_ part: String, library: String, samples: [(ours: Double, theirs: Double)]) {
        self.part = part
        self.library = library
        ours = samples.map(\.ours).sorted()
        theirs = samples.map(\.theirs).sorted()
    }

    var row: String {
        let ours = ours[ours.count / 2]
        let theirs = theirs[theirs.count / 2]
        func text(_ value: Double) -> String { String(format: "%.2f", value) }
        return "\(part) | \(text(ours)) | \(text(theirs)) | \(text(ours / theirs)) | \(library)"
    }

    /// Measures the part and the library in turn, so that other work of the machine affects both.
    static func alternate(
        _ part: String, library: String, rounds: Int, times: Int, ours: () throws -> Void, theirs: () throws -> Void
    ) rethrows -> Comparison {
        func cost(_ body: () throws -> Void) rethrows -> Double {
            let start = ProcessorTime.seconds
            for _ in 0..<times { try body() }
            return (ProcessorTime.seconds - start) / Double(times) * 1e6
        }
        _ = try (cost(ours), cost(theirs))
        return Comparison(
            part, library: library, samples: try (0..<rounds).map { _ in (try cost(ours), try cost(theirs)) })
    }
}

enum ProcessorTime {
    /// The processor seconds of all threads of the process.
    static var seconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
    }
}

/// The error of a part or library that returned a wrong result.
struct WrongResult: Error {}
