/** `launchedBy` of a session that an access token of its owner launched. */
export const LAUNCHED_BY_TOKEN = 'access token'
