/** Causes that agents report about their hosts, which users and administrators meet: see `CAUSES`. */
export const HOST_CAUSES = {
  start_up_script_runs:
    'Your start-up script still runs. Apps start when it has ended; its output is in the log of the session.',
} as const
