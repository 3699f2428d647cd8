extension LedgerRehearsal {
    /// Every statement that a worker's run may execute, by what it is for. A test looks for any that is missing.
    static let worker: [Work] = [
        Work(
            "claim purchases",
            [
                PackageResources.insert_claims_sql,
                PackageResources.lock_claims_sql,
                PackageResources.update_claims_sql,
                PackageResources.delete_claims_sql,
            ]),
        Work(
            "grant",
            [
                PackageResources.find_grants_sql,
                PackageResources.find_granted_periods_sql,
                PackageResources.insert_grants_sql,
                PackageResources.count_daily_grants_sql,
                PackageResources.lock_daily_counts_sql,
                PackageResources.insert_sightings_and_find_risk_sql,
                PackageResources.find_account_tokens_sql,
                PackageResources.insert_account_token_senders_sql,
                PackageResources.update_account_tokens_sql,
                PackageResources.lock_account_tokens_sql,
            ]),
        Work(
            "hold",
            [
                PackageResources.find_holds_sql,
                PackageResources.find_refunds_sql,
                PackageResources.insert_holds_sql,
                PackageResources.insert_held_submissions_sql,
                PackageResources.retry_disputed_holds_sql,
            ]),
        Work(
            "record outcomes, events and proofs",
            [
                PackageResources.insert_outcomes_sql,
                PackageResources.insert_undelivered_sql,
                PackageResources.delete_undelivered_sql,
                PackageResources.upsert_replays_sql,
            ]),
        Work(
            "look up what was decided before",
            [
                PackageResources.find_outcomes_sql,
                PackageResources.find_waiting_parked_sql,
                PackageResources.find_known_receipts_sql,
                PackageResources.find_partition_progress_sql,
            ]),
        Work(
            "take events out of the outbox",
            [
                PackageResources.lease_orphaned_outbox_sql,
                PackageResources.lease_partition_outbox_sql,
                PackageResources.find_outbox_floor_sql,
                PackageResources.delete_outbox_sql,
            ]),
        Work(
            "checkpoint offsets",
            [
                PackageResources.find_offset_checkpoints_sql,
                PackageResources.adopt_durable_offsets_sql,
                PackageResources.lock_offset_checkpoints_sql,
                PackageResources.upsert_offset_checkpoints_sql,
                PackageResources.increment_departures_sql,
                PackageResources.find_offsets_decided_again_sql,
                PackageResources.upsert_offsets_decided_again_sql,
            ]),
        Work(
            "park submissions",
            [
                PackageResources.insert_parked_sql,
                PackageResources.insert_refused_parked_sql,
                PackageResources.lease_due_parked_sql,
                PackageResources.reset_future_parked_sql,
                PackageResources.update_unreadable_parked_sql,
                PackageResources.reschedule_parked_sql,
                PackageResources.end_parked_lease_sql,
                PackageResources.delete_leased_parked_sql,
                PackageResources.delete_parked_sql,
                PackageResources.find_parked_suspect_sql,
                PackageResources.lease_suspect_parked_sql,
                PackageResources.clear_parked_suspicion_sql,
                PackageResources.retry_blocked_parked_page_sql,
            ]),
        Work(
            "end holds",
            [
                PackageResources.lease_due_holds_sql,
                PackageResources.find_hold_suspect_sql,
                PackageResources.lease_suspect_hold_sql,
                PackageResources.clear_hold_suspicion_sql,
                PackageResources.reset_future_holds_sql,
                PackageResources.update_kept_holds_sql,
                PackageResources.update_unreadable_holds_sql,
                PackageResources.reschedule_hold_sql,
                PackageResources.end_hold_lease_sql,
                PackageResources.lock_hold_sql,
                PackageResources.delete_hold_sql,
                PackageResources.lock_held_submission_sql,
                PackageResources.delete_held_submission_sql,
                PackageResources.insert_outbox_event_sql,
                PackageResources.insert_refusal_sql,
                PackageResources.free_claim_sql,
                PackageResources.reopen_announced_purchase_sql,
            ]),
        Work(
            "take notifications",
            [
                PackageResources.find_originals_sql,
                PackageResources.find_notifications_sql,
                PackageResources.insert_notifications_sql,
                PackageResources.lease_notification_history_sql,
                PackageResources.update_notification_history_sql,
                PackageResources.suspect_notification_sql,
                PackageResources.set_aside_notification_sql,
                PackageResources.release_notification_history_sql,
                PackageResources.find_refund_states_sql,
                PackageResources.lock_grants_sql,
                PackageResources.upsert_refunds_sql,
                PackageResources.revoke_grants_sql,
                PackageResources.insert_refund_events_sql,
            ]),
        Work(
            "follow subscriptions",
            [
                PackageResources.find_subscriptions_sql,
                PackageResources.upsert_subscriptions_sql,
                PackageResources.upsert_subscription_receipts_sql,
                PackageResources.find_unowned_subscriptions_sql,
                PackageResources.upsert_unowned_subscriptions_sql,
                PackageResources.take_unowned_subscriptions_sql,
                PackageResources.pass_on_claims_sql,
                PackageResources.lease_due_subscriptions_sql,
                PackageResources.reschedule_subscription_sql,
                PackageResources.end_subscription_lease_sql,
            ]),
        Work(
            "tell Apple of deliveries",
            [
                PackageResources.lease_due_finishes_sql,
                PackageResources.reset_future_finishes_sql,
                PackageResources.end_finish_sql,
                PackageResources.release_finish_sql,
            ]),
        Work(
            "answer about refund requests",
            [
                PackageResources.insert_refund_requests_sql,
                PackageResources.insert_refund_request_events_sql,
                PackageResources.find_unowned_refund_requests_sql,
                PackageResources.update_unowned_refund_requests_sql,
                PackageResources.lease_due_refund_requests_sql,
                PackageResources.reset_future_refund_requests_sql,
                PackageResources.find_owed_events_sql,
                PackageResources.end_refund_request_sql,
                PackageResources.release_refund_request_sql,
                PackageResources.upsert_consumption_reports_sql,
            ]),
        Work(
            "deliver what nobody submitted",
            [
                PackageResources.insert_announced_purchases_sql,
                PackageResources.insert_missed_purchase_grants_sql,
                PackageResources.lease_due_announced_purchases_sql,
                PackageResources.lease_suspect_announced_purchase_sql,
                PackageResources.clear_announced_suspicion_sql,
                PackageResources.reset_future_announced_purchases_sql,
                PackageResources.lock_announced_purchases_sql,
                PackageResources.find_announced_owners_sql,
                PackageResources.update_announced_purchases_sql,
                PackageResources.put_off_announced_purchases_sql,
                PackageResources.insert_announced_events_sql,
            ]),
        Work(
            "take whose account tokens are",
            [
                PackageResources.upsert_player_accounts_sql,
                PackageResources.lock_announced_of_tokens_sql,
                PackageResources.retry_announced_purchases_sql,
            ]),
        Work(
            "follow the catalog",
            [
                PackageResources.find_latest_catalog_version_sql,
                PackageResources.find_catalog_sql,
            ]),
        Work(
            "share the budget of requests to Apple",
            [
                PackageResources.lease_apple_budget_sql,
                PackageResources.upsert_apple_budget_hold_sql,
                PackageResources.list_apple_budget_holds_sql,
            ]),
        Work(
            "count the backlog",
            [
                PackageResources.count_backlog_sql,
                PackageResources.count_subscriptions_sql,
            ]),
        Work(
            "forget what is old",
            [
                PackageResources.list_outcome_days_sql,
                PackageResources.upsert_maintenance_turn_sql,
                PackageResources.find_lock_holders_sql,
            ],
            and: [
                Pruning.subscriptionReceipts.finding, Pruning.subscriptionReceipts.deleting,
                Pruning.unownedSubscriptions.finding, Pruning.unownedSubscriptions.deleting,
                Pruning.defaults.finding, Pruning.defaults.deleting, Pruning.proofs.finding, Pruning.proofs.deleting,
                Pruning.sightings.finding, Pruning.sightings.deleting, Pruning.replays.finding,
                Pruning.replays.deleting, Pruning.notifications.finding, Pruning.notifications.deleting,
                Pruning.finishes.finding, Pruning.finishes.deleting,
                Pruning.undelivered.finding, Pruning.undelivered.deleting,
                Pruning.refundRequests.finding, Pruning.refundRequests.deleting, Pruning.consumptionReports.finding,
                Pruning.consumptionReports.deleting, Pruning.trafficMinutes.finding, Pruning.trafficMinutes.deleting,
                Pruning.trafficHours.finding, Pruning.trafficHours.deleting,
            ]),
        Work("count the traffic", [PackageResources.upsert_traffic_sql]),
        Work("forget signed data", [PackageResources.forget_announced_evidence_sql]),
    ]
}
