import { type SchedulingSwitch } from '../../scheduler/pause.ts'
import { type Handlers } from '../handlers.ts'

export function createSchedulingRoutes(
  scheduling: SchedulingSwitch,
): Pick<Handlers, 'getScheduling' | 'pauseScheduling' | 'resumeScheduling'> {
  return {
    getScheduling: () => scheduling.read(),
    pauseScheduling: () => scheduling.pause(),
    resumeScheduling: () => scheduling.resume(),
  }
}
