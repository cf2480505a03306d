import { z } from 'zod'
import { Registry, RegistryChange, RegistryCheck, RegistryName, RegistrySpec } from '../images/registries.ts'
import { Task, TaskId } from '../operation/tasks.ts'
import { type RouteSpec } from './route-spec.ts'

/** Registries, and long-running tasks on images. */
export const REGISTRY_ROUTES = {
  listRegistries: {
    method: 'GET',
    path: '/api/v1/registries',
    access: 'superadmin',
    summary: 'List the registries whose images can be launched. Passwords are never shown.',
    reply: z.object({ items: z.array(Registry) }),
  },
  createRegistry: {
    method: 'POST',
    path: '/api/v1/registries',
    access: 'superadmin',
    idempotencyKey: true,
    summary: 'Add a registry; a rescan then finds its images.',
    body: RegistrySpec,
    status: 201,
    reply: Registry,
  },
  updateRegistry: {
    method: 'PATCH',
    path: '/api/v1/registries/:name',
    access: 'superadmin',
    summary: 'Change a registry. Missing fields stay as they are.',
    params: z.object({ name: RegistryName }),
    body: RegistryChange,
    reply: Registry,
  },
  deleteRegistry: {
    method: 'DELETE',
    path: '/api/v1/registries/:name',
    access: 'superadmin',
    summary: 'Remove a registry and the list of its images. Images on agents stay.',
    params: z.object({ name: RegistryName }),
    status: 204,
    reply: z.void(),
  },
  rescanRegistry: {
    method: 'POST',
    path: '/api/v1/registries/:name/rescan',
    access: 'superadmin',
    idempotencyKey: true,
    summary: 'Scan a registry for images. While a rescan is running, the answer is that rescan.',
    params: z.object({ name: RegistryName }),
    status: 202,
    reply: Task,
  },
  testRegistry: {
    method: 'POST',
    path: '/api/v1/registries/:name/test',
    access: 'superadmin',
    summary: 'Ask a registry now for its repositories and for the tags of one, as a rescan does. Nothing is stored.',
    params: z.object({ name: RegistryName }),
    reply: RegistryCheck,
  },
  listTasks: {
    method: 'GET',
    path: '/api/v1/tasks',
    access: 'superadmin',
    summary: 'List rescans, pulls and backups, newest first: running ones, and those of the last days.',
    reply: z.object({ items: z.array(Task) }),
  },
  getTask: {
    method: 'GET',
    path: '/api/v1/tasks/:id',
    access: 'superadmin',
    summary: 'Progress of a task.',
    params: z.object({ id: TaskId }),
    reply: Task,
  },
  cancelTask: {
    method: 'DELETE',
    path: '/api/v1/tasks/:id',
    access: 'superadmin',
    summary: 'Cancel a task; finished work stays. A task that has ended is returned unchanged.',
    params: z.object({ id: TaskId }),
    status: 202,
    reply: Task,
  },
} as const satisfies Record<string, RouteSpec>
