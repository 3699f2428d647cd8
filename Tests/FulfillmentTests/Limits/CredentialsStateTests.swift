import Testing

@testable import Fulfillment

@Suite("The state of an app's credentials")
struct CredentialsStateTests {
    private func expect(_ state: inout CredentialsState, mayAsk: Bool, at now: Double) {
        let answer = state.mayAsk(now: now)
        #expect(answer == mayAsk)
    }

    @Test(
        "if Apple refuses the secret with any number of one player's receipts, receiptd holds back no request",
        arguments: [true, false])
    func onePlayer(isProven: Bool) {
        var state = CredentialsState()
        for receipt in 0..<1_000 {
            state.refused(player: 1, receipt: receipt, isProven: isProven, now: Double(receipt) / 10)
        }
        expect(&state, mayAsk: true, at: 100)
        #expect(!state.areDoubted && state.isMisconfigured(now: 100) == isProven)
    }

    @Test(
        "if Apple refuses the secret with one receipt that any number of players send, receiptd holds back no request",
        arguments: [true, false])
    func oneReceipt(isProven: Bool) {
        var state = CredentialsState()
        for player in 0..<1_000 { state.refused(player: player, receipt: 1, isProven: isProven, now: 1) }
        expect(&state, mayAsk: true, at: 1)
        #expect(!state.areDoubted)
    }

    @Test("if Apple refuses the secret with unproven receipts of any number of players, receiptd holds back no request")
    func notProven() {
        var state = CredentialsState()
        for player in 0..<CredentialsState.playersWithoutSuccess {
            #expect(!state.areDoubted)
            state.refused(player: player, receipt: player, isProven: false, now: 10)
        }
        for player in 0..<1_500 { state.refused(player: player, receipt: player, isProven: false, now: 10) }
        #expect(state.areDoubted && !state.isMisconfigured(now: 10))
        expect(&state, mayAsk: true, at: 10)
        state.succeeded(didCheckSecret: false)
        #expect(!state.areDoubted)
    }

    @Test("while an app is blocked, a probe with an unproven receipt does not delay the probe with a proven receipt")
    func probes() {
        var state = CredentialsState()
        for player in 0..<3 { state.refused(player: player, receipt: player, isProven: true, now: 10) }
        let unproven = [14, 15, 16, 20].map { state.mayAsk(isProven: false, now: $0) }
        #expect(unproven == [false, true, false, true])
        expect(&state, mayAsk: true, at: 20)
        expect(&state, mayAsk: false, at: 20)
    }

    @Test("if Apple refuses the secret with several players' proven receipts, the app may only send a probe every 5 s")
    func severalPlayers() {
        var state = CredentialsState()
        for player in 0..<CredentialsState.playersWithoutSuccess {
            expect(&state, mayAsk: true, at: 10)
            state.refused(player: player, receipt: player, isProven: true, now: 10)
        }
        #expect(state.isMisconfigured(now: 10))
        expect(&state, mayAsk: false, at: 14.9)
        expect(&state, mayAsk: true, at: 15)
        expect(&state, mayAsk: false, at: 15.1)
        state.succeeded(didCheckSecret: true)
        #expect(!state.isMisconfigured(now: 16))
        expect(&state, mayAsk: true, at: 16)
    }

    @Test("if Apple accepts the secret, the count of refusals restarts, and more refusals are needed to block the app")
    func success() {
        var state = CredentialsState()
        for player in 0..<2 { state.refused(player: player, receipt: player, isProven: true, now: 1) }
        state.succeeded(didCheckSecret: true)
        for player in 2..<6 { state.refused(player: player, receipt: player, isProven: true, now: 2) }
        expect(&state, mayAsk: true, at: 2)
        state.refused(player: 7, receipt: 7, isProven: true, now: 2)
        expect(&state, mayAsk: false, at: 2)
    }

    @Test("if Apple accepts the secret after every fourth refusal, refusals with proven receipts do not block the app")
    func forgers() {
        var state = CredentialsState()
        for number in 0..<400 {
            state.refused(player: number, receipt: number, isProven: true, now: Double(number))
            expect(&state, mayAsk: true, at: Double(number))
            if number % 4 == 0 { state.succeeded(didCheckSecret: true) }
        }
    }

    @Test(
        "if Apple refuses the secret at intervals of more than ten minutes, the refusals do not add up to block the app"
    )
    func old() {
        var state = CredentialsState()
        for player in 0..<20 {
            state.refused(player: player, receipt: player, isProven: true, now: Double(player) * 601)
        }
        expect(&state, mayAsk: true, at: 20 * 601)
    }

    @Test("if Apple refuses the secret with one proven receipt, the app counts as misconfigured, but is not blocked")
    func proven() {
        var state = CredentialsState()
        state.refused(player: 1, receipt: 1, isProven: true, now: 5)
        #expect(state.isMisconfigured(now: 5))
        expect(&state, mayAsk: true, at: 5)
        state.succeeded(didCheckSecret: false)
        #expect(state.isMisconfigured(now: 6))
        state.succeeded(didCheckSecret: true)
        #expect(!state.isMisconfigured(now: 7))
    }

    @Test(
        "after Apple refused the secret, the app counts as misconfigured until an answer shows that the secret is right"
    )
    func provenIsOver() {
        func afterRefusal(holdsAutoRenewable: Bool) -> CredentialsState {
            var state = CredentialsState()
            state.refused(player: 1, receipt: 1, isProven: true, holdsAutoRenewable: holdsAutoRenewable, now: 5)
            return state
        }
        // Apple refused the secret with a consumable's receipt, so it checks the secret for consumables. An accepted
        // receipt of another consumable therefore shows that the secret is right.
        var consumable = afterRefusal(holdsAutoRenewable: false)
        consumable.succeeded(receipt: 2, didCheckSecret: false)
        #expect(!consumable.isMisconfigured(now: 6))
        // If Apple refused the secret with a subscription's receipt, an accepted consumable shows nothing: Apple may
        // not have checked the secret.
        var subscription = afterRefusal(holdsAutoRenewable: true)
        subscription.succeeded(receipt: 2, didCheckSecret: false)
        #expect(subscription.isMisconfigured(now: 6))
        subscription.succeeded(receipt: 1, didCheckSecret: false)
        #expect(!subscription.isMisconfigured(now: 6))
        // A refusal of a receipt that is not proven changes nothing.
        var forged = afterRefusal(holdsAutoRenewable: false)
        for number in 0..<100 { forged.refused(player: 9, receipt: 100 + number, isProven: false, now: 6) }
        #expect(forged.isMisconfigured(now: 6))
        var sound = CredentialsState()
        for number in 0..<100 { sound.refused(player: 9, receipt: 100 + number, isProven: false, now: 6) }
        #expect(!sound.isMisconfigured(now: 6))
    }

    @Test(
        "one status 401 marks the app as misconfigured, two in a row block the app, and an accepted request ends both")
    func certainRefusals() {
        var state = CredentialsState()
        state.refusedForCertain(now: 0)
        #expect(state.isMisconfigured(now: 0))
        expect(&state, mayAsk: true, at: 0)
        state.succeeded(didCheckSecret: true)
        #expect(!state.isMisconfigured(now: 1))
        state.refusedForCertain(now: 2)
        expect(&state, mayAsk: true, at: 2)
        state.refusedForCertain(now: 3)
        expect(&state, mayAsk: false, at: 7.9)
        expect(&state, mayAsk: true, at: 8)
        state.refusedForCertain(now: 8)
        expect(&state, mayAsk: false, at: 9)
        #expect(state.isMisconfigured(now: 100_000))
        state.succeeded(didCheckSecret: true)
        #expect(!state.isMisconfigured(now: 100_000))
        expect(&state, mayAsk: true, at: 100_000)
    }

    @Test("while the secret is missing, the app counts as misconfigured")
    func missing() {
        var state = CredentialsState()
        state.secret(isMissing: true)
        #expect(state.isMisconfigured(now: 0))
        state.secret(isMissing: false)
        #expect(!state.isMisconfigured(now: 0))
    }
}
