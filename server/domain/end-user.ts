/** End users: whom an application serves behind one key (`user` of a request). A key may cap each of them. */

/** So many are counted apart in one UTC day of one key; later ones are counted together, also against its caps. */
export const MOST_END_USERS_A_DAY = 10_000

/** The name under which all later ones are counted; no end user has it, because an empty `user` counts as absent. */
export const REST_OF_END_USERS = ''
