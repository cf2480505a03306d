import { z } from 'zod'
import { BackupName, Backups } from '../operation/backups.ts'
import { Task } from '../operation/tasks.ts'
import { type RouteSpec } from './route-spec.ts'

/** Backups of the database on the manager's computer. The settings decide when Berth makes them by itself. */
export const BACKUP_ROUTES = {
  listBackups: {
    method: 'GET',
    path: '/api/v1/backups',
    access: 'superadmin',
    summary: 'Backups that the manager which answers has, the last ones that were made, and when the next one is due.',
    reply: Backups,
  },
  createBackup: {
    method: 'POST',
    path: '/api/v1/backups',
    access: 'superadmin',
    idempotencyKey: true,
    summary: 'Make a backup now, without the master key. While one is being made, the answer is that task.',
    status: 202,
    reply: Task,
  },
  deleteBackup: {
    method: 'DELETE',
    path: '/api/v1/backups/:name',
    access: 'superadmin',
    summary: 'Delete a backup that the manager which answers has.',
    params: z.object({ name: BackupName }),
    status: 204,
    reply: z.void(),
  },
} as const satisfies Record<string, RouteSpec>
