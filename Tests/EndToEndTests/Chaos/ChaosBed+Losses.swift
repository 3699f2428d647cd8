import EmbeddedPostgres
import Foundation
import Kafka
import Postgres
import TestSupport

@testable import Demo

extension ChaosBed {
    /// Copies the data directory of the stopped server. The fault's end restores the copy. The server then has the same
    /// timeline and an earlier WAL position.
    func beginPutBack() async throws -> Cure {
        try await blocking { [server] in
            server.stopServer()
            defer { try? server.startServer() }
            try server.keepCopy()
        }
        return { [self] in
            try await losing {
                try await blocking { [server] in
                    server.stopServer()
                    defer { try? server.startServer() }
                    try server.putCopyBack()
                }
            }
        }
    }

    /// Promotes a standby while the old primary runs. Existing sessions stay with the old primary, and new sessions
    /// connect to the promoted server. The fault's end stops the old primary for good.
    func beginPromotion() async throws -> Cure {
        let standby = try await blocking { [server] in try server.startStandby() }
        otherServer.value = standby
        databaseLife.beginLosing()
        do {
            try await eventually("the standby follows") {
                try await bed.query("SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'") {
                    $0.int8(0, 0)
                } == 1
            }
            try await blocking { try standby.promote() }
            try await databaseProxy.setTarget(port: standby.port)
        } catch {
            databaseLife.endLosing()
            throw error
        }
        return { [self] in
            try await losing {
                try await blocking { [server] in
                    server.stopServer()
                    standby.stopServer()
                    defer { try? server.startServer() }
                    try server.takeOver(standby)
                    standby.stop()
                }
                otherServer.value = nil
                try await databaseProxy.setTarget(port: server.port)
            }
        }
    }

    /// Disconnects the workers from the database, remembers the parked submissions, and then runs `body`, which loses
    /// commits.
    private func losing(_ body: () async throws -> Void) async throws {
        databaseLife.beginLosing()
        defer { databaseLife.endLosing() }
        try await databaseProxy.setSilent(true)
        try await databaseProxy.cut()
        do {
            try await database(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'receiptd'")
            try await rememberParked()
            try await body()
        } catch {
            try await databaseProxy.setSilent(false)
            throw error
        }
        try await databaseProxy.cut()
        try await databaseProxy.setSilent(false)
    }
}
