import { z } from 'zod'
import { Registry, RegistryChange, RegistryName, RegistrySpec } from '../registries.ts'
import { Task, TaskId } from '../tasks.ts'
import { type RouteSpec } from './route-spec.ts'

/** Registries, and long-running tasks on images. */
export const REGISTRY_ROUTES = {
  listRegistries: {
    method: 'GET',
    path: '/api/v1/registries',
    access: 'superadmin',
    summary: 'Registries whose images can be launched. Passwords are never given out.',
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
    summary: 'Change a registry; what is left out stays.',
    params: z.object({ name: RegistryName }),
    body: RegistryChange,
    reply: Registry,
  },
  deleteRegistry: {
    method: 'DELETE',
    path: '/api/v1/registries/:name',
    access: 'superadmin',
    summary: 'Forget a registry and what was found there. Images on agents stay.',
    params: z.object({ name: RegistryName }),
    status: 204,
    reply: z.void(),
  },
  rescanRegistry: {
    method: 'POST',
    path: '/api/v1/registries/:name/rescan',
    access: 'superadmin',
    idempotencyKey: true,
    summary: 'Look through a registry. While one rescan of it runs, that one is answered.',
    params: z.object({ name: RegistryName }),
    status: 202,
    reply: Task,
  },
  listTasks: {
    method: 'GET',
    path: '/api/v1/tasks',
    access: 'superadmin',
    summary: 'Rescans and pulls, newest first: those that run, and those of the last days.',
    reply: z.object({ items: z.array(Task) }),
  },
  getTask: {
    method: 'GET',
    path: '/api/v1/tasks/:id',
    access: 'superadmin',
    summary: 'How far it is.',
    params: z.object({ id: TaskId }),
    reply: Task,
  },
  cancelTask: {
    method: 'DELETE',
    path: '/api/v1/tasks/:id',
    access: 'superadmin',
    summary: 'Cancel it; what it has done stays. One that has ended is answered as it is.',
    params: z.object({ id: TaskId }),
    status: 202,
    reply: Task,
  },
} as const satisfies Record<string, RouteSpec>
