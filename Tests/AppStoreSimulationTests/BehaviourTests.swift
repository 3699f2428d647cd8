import AppStoreSimulation
import Foundation
import Testing

@Suite("The JSON of simulated behaviours")
struct BehaviourTests {
    static let steps: [SimulatedStep] = [
        .genuine, .emptyInApp, .html, .hang, .hangAfterHeaders, .reset, .close, .halfBody, .garbage,
        .status(21005),
        .status(21104, isRetryable: true, keyStyle: .dash, valueStyle: .string),
        .status(21010, isRetryable: false, valueStyle: .number),
        .json("{\"status\":0}", httpStatus: 500),
        .http(503, headers: ["Retry-After": "5"], body: "busy"),
        .slowDrip(milliseconds: 3, chunkBytes: 10),
        .delay(milliseconds: 50, then: .status(21002)).only(in: .sandbox).times(4),
    ]

    @Test("Encoding and decoding leave every step of a simulated behaviour unchanged", arguments: steps)
    func roundTrip(_ step: SimulatedStep) {
        let behaviour: SimulatedBehaviour = [step, .genuine]
        #expect(SimulatedBehaviour(json: behaviour.json) == behaviour)
    }

    @Test("In a simulated behaviour's JSON, a single step needs no array, and an answer needs only its name")
    func shortForms() {
        #expect(SimulatedBehaviour(json: "\"hang\"") == [.hang])
        #expect(SimulatedBehaviour(json: #"{"answer":"status","status":21005,"times":2}"#) == [.status(21005).times(2)])
        #expect(
            SimulatedBehaviour(json: #"["reset",{"answer":"genuine","delay_ms":7}]"#)
                == [.reset, .delay(milliseconds: 7, then: .genuine)])
        #expect(SimulatedBehaviour(json: #"["explode"]"#) == nil)
        #expect(SimulatedBehaviour(json: "") == nil)
    }

    @Test("The JSON of a simulated behaviour is as documented")
    func text() {
        let behaviour: SimulatedBehaviour = [.status(21005).times(2), .genuine]
        #expect(behaviour.json == #"[{"answer":"status","status":21005,"times":2},"genuine"]"#)
    }

    @Test("Encoding and decoding leave a simulated latency unchanged")
    func latencies() throws {
        for latency: SimulatedLatency in [.fixed(5), .uniform(1, 9), .logNormal(median: 40, sigma: 0.5, cap: 900)] {
            let data = try JSONEncoder().encode(latency)
            #expect(try JSONDecoder().decode(SimulatedLatency.self, from: data) == latency)
        }
    }
}
