import { Scheduling } from '../agents/scheduling.ts'
import { type RouteSpec } from './route-spec.ts'

/** The switch for the whole scheduler. */
export const SCHEDULING_ROUTES = {
  getScheduling: {
    method: 'GET',
    path: '/api/v1/scheduling',
    access: 'user',
    summary: 'Show whether scheduling is paused.',
    reply: Scheduling,
  },
  pauseScheduling: {
    method: 'POST',
    path: '/api/v1/scheduling/pause',
    access: 'superadmin',
    summary: 'Start no sessions until scheduling resumes. Running sessions continue.',
    reply: Scheduling,
  },
  resumeScheduling: {
    method: 'POST',
    path: '/api/v1/scheduling/resume',
    access: 'superadmin',
    summary: 'Start sessions again: after a pause, or after a restore once all agents are connected.',
    reply: Scheduling,
  },
} as const satisfies Record<string, RouteSpec>
