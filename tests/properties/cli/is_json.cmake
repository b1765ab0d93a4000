# cmake -DFILE=... -P is_json.cmake: fails unless the file holds one JSON object.
cmake_minimum_required(VERSION 3.25)
file(READ "${FILE}" text)
string(JSON members LENGTH "${text}")
