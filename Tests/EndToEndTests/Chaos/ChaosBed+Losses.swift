import EmbeddedPostgres
import Foundation
import Kafka
import Postgres
import TestSupport

@testable import Demo

/// Faults by which the database loses commits while the workers keep running.
extension ChaosBed {
    /// Copies the data directory of the stopped server, and restores the copy at the end: the same timeline, at an
    /// earlier position.
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

    /// Promotes a standby while the old primary keeps running: established sessions stay with the old primary, and new
    /// sessions reach the promoted server. At the end the old primary is gone for good.
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

    /// Cuts the workers off before the test reads the rows that the database is about to lose.
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
