/** Method and path of the calls that concern grants; `routes/grants.ts` says the rest. */
export const GRANT_CALLS = {
  createGrant: { method: 'POST', path: '/api/v1/sessions/:id/apps/:app/grant' },
  grantToProgram: { method: 'POST', path: '/api/v1/sessions/:id/apps/:app/program-grant' },
  renewGrant: { method: 'POST', path: '/api/v1/grants/renew' },
} as const
